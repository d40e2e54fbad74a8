"""Classification losses, including debiasing losses."""
