"""Clone bundles that make themselves: when, how, and where they go. docs/notes/clone-bundles.md."""
