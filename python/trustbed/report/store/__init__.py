"""What a store says, as text and as pages: hosts and hours, causes over time, runs of a paper."""
