"""Where the experts search besides the whole domain: afresh, few columns, boxes, branches."""
