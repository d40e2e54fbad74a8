"""Losses of classification, debiasing losses among them."""
