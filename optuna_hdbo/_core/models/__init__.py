"""What a study is taken for: ensembles of models, additive and isotropic ones, subsets."""
