"""The JSON documents that commands print: their fields and types, and how records become documents."""
