"""The page's parts, without a browser."""
