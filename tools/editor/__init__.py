"""Builds the editor component of the control page anew."""
