"""Components, settings, hooks and the plugin registry; errors, files, progress and messages."""
