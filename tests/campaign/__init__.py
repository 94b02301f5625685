"""A seeded campaign: drawn inputs, changed model files, interrupts and kills, and counts of what came of them."""
