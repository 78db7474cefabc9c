"""What lies between a study and a method: trials as arrays, points as parameters, the storage."""
