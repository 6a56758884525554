"""The gateway: next to a stock `svn`, it makes commits over a slow link fast.

See docs/gateway.md.
"""
