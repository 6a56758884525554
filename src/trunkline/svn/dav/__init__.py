"""What Subversion's clients say over HTTP, and what they are answered. Knows no socket."""
