"""Experiments with networks: SelectiveNet, self-adaptive training, Deep Gamblers, and networks as base models.

One piece of work is one training. Its outputs are kept, and the methods are put together from them afterwards, so that
methods share trainings and a kill loses at most one epoch.
"""
