"""The web scraper: fetches pages that robots.txt allows, and extracts their readable text."""
