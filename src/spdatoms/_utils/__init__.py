"""What every room uses: threads, progress, files, checks of parameters, types."""
