"""What the tests share: real servers, processes and endpoints, and things to begin with."""
