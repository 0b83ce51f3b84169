"""Embeds: `«type:expression»` in a text stands for what is put in its place."""
