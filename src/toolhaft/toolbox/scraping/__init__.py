"""The tool that reads web pages: fetched with the leave of their sites, readable text given back."""
