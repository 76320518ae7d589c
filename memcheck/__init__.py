"""memcheck: which final states does the PTX memory model allow?"""
