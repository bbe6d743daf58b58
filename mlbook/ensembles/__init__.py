"""Trees and ensembles: one split finder and one grower on additive statistics."""
