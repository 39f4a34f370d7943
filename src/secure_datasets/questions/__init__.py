"""Who, why, nearest grants, last support: typed question in, answer out."""
