"""A plugin that ends the program that loads it."""

import sys

sys.exit(3)
