"""The parts that every chart is put together from."""
