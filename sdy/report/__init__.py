"""Reports: explanations, tables, pictures, notations and the HTML page."""
