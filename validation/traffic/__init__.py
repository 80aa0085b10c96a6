"""Is generated traffic what its model says, and what the trace of the model was?"""
