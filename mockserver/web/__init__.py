"""The web edge: routes, authentication, faults performed, pages and the control API. Decides
nothing about business."""
