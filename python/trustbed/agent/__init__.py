"""The agent, the one program that runs on every host of an experiment.

Its client and its control channel.
"""
