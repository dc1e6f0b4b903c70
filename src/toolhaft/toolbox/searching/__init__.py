"""The tool that searches the web, and the engines that it can use."""
