"""The parts of a fit of the network: features, loss, training, decision."""
