"""What commands print: tables, JSON documents, and annotations for GitHub."""
