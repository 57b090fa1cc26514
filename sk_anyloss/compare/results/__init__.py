"""What a comparison has found: fits, their scores, and what follows from them."""
