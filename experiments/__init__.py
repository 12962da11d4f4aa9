"""The paper's tables and figures again, with its figures beside ours, our methods and the peers: `make paper`."""
