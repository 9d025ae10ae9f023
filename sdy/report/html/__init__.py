"""The HTML report: the data of a partitioned program, and the files of the page that displays them."""
