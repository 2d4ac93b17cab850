"""What each method loses for the same promise, and how long it takes."""
