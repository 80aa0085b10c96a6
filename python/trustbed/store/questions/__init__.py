"""What people ask of a store.

Which hosts produce numbers to be discarded, and at which hours
(:mod:`~trustbed.store.questions.hosts`); how the shares of causes changed
(:mod:`~trustbed.store.questions.causes`); which runs of a paper would not survive review
(:mod:`~trustbed.store.questions.papers`).
"""
