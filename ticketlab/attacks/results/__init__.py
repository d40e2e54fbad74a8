"""Records of attacked examples: metrics, caveats, similarity, export, augmentation."""
