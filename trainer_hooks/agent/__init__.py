"""The node agent: the one process on a GPU node that writes power limits, and gives them back."""
