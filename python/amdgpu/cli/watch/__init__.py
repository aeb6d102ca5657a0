"""Commands about a program: run, trace, explain, record, replay, and the figures behind them."""
