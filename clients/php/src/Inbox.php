<?php

declare(strict_types=1);

namespace Payfurl\Mockserver;

/** The built-in receiver of webhooks. */
final class Inbox
{
    public function __construct(private readonly Sandbox $sandbox)
    {
    }

    /** The address to give as a webhook's url. */
    public function url(string $name = 'inbox'): string
    {
        // A public key opens no sandbox.
        $this->sandbox->assume([]);
        return "{$this->sandbox->url}/__inbox/" . rawurlencode($name) . "?publicKey={$this->sandbox->publicKey}";
    }

    /** @return list<array<string, mixed>> what has arrived, in order */
    public function messages(string $name = 'inbox'): array
    {
        return $this->sandbox->call('GET', '/__admin/inbox/' . rawurlencode($name))['messages'];
    }

    /** Forgets what has arrived. */
    public function clear(string $name = 'inbox'): void
    {
        $this->sandbox->call('DELETE', '/__admin/inbox/' . rawurlencode($name));
    }
}
