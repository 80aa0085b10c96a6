// What the path does to packets beside queueing them: loses, polices, delays, reorders.
#pragma once

#include "captures.h"

#include "ns3/point-to-point-module.h"

#include <algorithm>
#include <sstream>
#include <string>

using namespace ns3;

class Trouble : public ErrorModel
{
  public:
    double loss = 0;             // independent
    double badShare = 0;         // Gilbert: share of packets in the bad state,
    double badLength = 1;        // mean number of packets there, all of which are lost
    double reorder = 0;          // share of packets that are held back
    double heldSeconds = 0;
    double jitterSeconds = 0;    // greatest; the order is kept
    double policedRate = 0;      // bytes per second; 0: none
    double policedBurst = 0;     // bytes
    bool isDown = false;
    Ipv4Address watched;
    uint32_t lost = 0;           // packets of the watched address
    uint32_t policed = 0;
    uint32_t fallen = 0;         // lost while down
    uint32_t held = 0;

    static TypeId GetTypeId()
    {
        static TypeId id = TypeId("ns3::Trouble").SetParent<ErrorModel>();
        return id;
    }

    void Attach(Ptr<NetDevice> device)
    {
        m_device = DynamicCast<PointToPointNetDevice>(device);
        m_device->SetReceiveErrorModel(this);
        m_random = CreateObject<UniformRandomVariable>();
    }

    static void SetDown(Ptr<Trouble> trouble, bool isDown)
    {
        trouble->isDown = isDown;
    }

    std::string Report() const
    {
        std::ostringstream text;
        text << "\"lost\":" << lost << ",\"policed\":" << policed << ",\"fallen\":" << fallen
             << ",\"held\":" << held;
        return text.str();
    }

  private:
    bool DoCorrupt(Ptr<Packet> packet) override
    {
        if (m_isSecond)
        {
            return false;
        }
        bool isWatched = SourceOf(packet) == watched;
        if (isDown)
        {
            fallen += isWatched;
            return true;
        }
        if (loss > 0 && m_random->GetValue() < loss)
        {
            lost += isWatched;
            return true;
        }
        if (badShare > 0)
        {
            double leave = 1 / badLength;
            double enter = leave * badShare / (1 - badShare);
            m_isBad = m_isBad ? m_random->GetValue() >= leave : m_random->GetValue() < enter;
            if (m_isBad)
            {
                lost += isWatched;
                return true;
            }
        }
        if (policedRate > 0 && !Conforms(packet))
        {
            policed += isWatched;
            return true;
        }
        return Delayed(packet, isWatched);
    }

    bool Conforms(Ptr<Packet> packet)
    {
        double now = Simulator::Now().GetSeconds();
        m_tokens = m_isFirst ? policedBurst
                             : std::min(policedBurst, m_tokens + (now - m_filled) * policedRate);
        m_isFirst = false;
        m_filled = now;
        if (m_tokens < packet->GetSize())
        {
            return false;
        }
        m_tokens -= packet->GetSize();
        return true;
    }

    bool Delayed(Ptr<Packet> packet, bool isWatched)
    {
        double now = Simulator::Now().GetSeconds();
        double at = now;
        if (reorder > 0 && m_random->GetValue() < reorder)
        {
            at += heldSeconds * (0.5 + m_random->GetValue());
            held += isWatched;
        }
        else if (jitterSeconds > 0)
        {
            m_last = std::max(m_last, now + jitterSeconds * m_random->GetValue());
            at = m_last;
        }
        if (at == now)
        {
            return false;
        }
        Simulator::Schedule(Seconds(at - now), &Trouble::Again, this, packet->Copy());
        return true;
    }

    void Again(Ptr<Packet> packet)
    {
        m_isSecond = true;
        m_device->Receive(packet);
        m_isSecond = false;
    }

    void DoReset() override
    {
    }

    Ptr<PointToPointNetDevice> m_device;
    Ptr<UniformRandomVariable> m_random;
    bool m_isSecond = false;
    bool m_isBad = false;
    bool m_isFirst = true;
    double m_tokens = 0;
    double m_filled = 0;
    double m_last = 0;
};
