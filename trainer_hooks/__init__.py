"""What runs inside training and on GPU nodes; needs the standard library and nvidia-ml-py only."""
