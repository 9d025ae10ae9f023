"""The report as one page: plain data, made from a partitioned program, and the files of the page that shows them."""
