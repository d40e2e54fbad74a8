"""ticketlab: robust lottery tickets in pre-trained language models."""
