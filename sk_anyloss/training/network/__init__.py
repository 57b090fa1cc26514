"""The multi-layer perceptron, and its gradient in closed form for K of them."""
