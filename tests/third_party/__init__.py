"""Components as an outside author would write them, one module each, against ``ticketlab.plugin`` alone."""
