package com.payfurl.mockserver;

/** A control call was refused, a verification failed, a test did something wrong, or no server could be had. */
public final class MockserverError extends AssertionError {
    private static final long serialVersionUID = 1L;

    public MockserverError(String message) {
        super(message);
    }
}
