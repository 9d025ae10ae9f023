"""The output of commands: tables, JSON documents, and annotations for GitHub."""
