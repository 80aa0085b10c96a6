"""Which background traffic an application reacts to: a suite of backgrounds, and surrogates."""
