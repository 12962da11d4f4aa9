"""Weights, groups, time, capacity and several rows per person, on columns that real data sets have.

One topic, one module: what is measured on one draw of the rows, its table and its picture.
"""
