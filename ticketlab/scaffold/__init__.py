"""The packages that ``ticketlab new-plugin`` writes: their templates, and the names in them."""
