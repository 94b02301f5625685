"""Groups of rows that follow rules of their own, found before any network is trained; plain arrays in and out."""
